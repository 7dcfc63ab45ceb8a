
7
TanhGrad/y_0Placeholder*
dtype0*
shape:
8
TanhGrad/dy_0Placeholder*
dtype0*
shape:
A
TanhGrad/call_0TanhGradTanhGrad/y_0TanhGrad/dy_0*
T0"ª