
.
x_0Placeholder*
dtype0*
shape:

call_0Asinhx_0*
T0
.
x_1Placeholder*
dtype0*
shape:

call_1Asinhx_1*
T0"ª