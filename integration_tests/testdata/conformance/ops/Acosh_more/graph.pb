
.
x_0Placeholder*
dtype0*
shape:

call_0Acoshx_0*
T0
.
x_1Placeholder*
dtype0*
shape:

call_1Acoshx_1*
T0"ª