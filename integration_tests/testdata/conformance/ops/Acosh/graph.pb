
.
x_0Placeholder*
dtype0*
shape:

call_0Acoshx_0*
T0
.
x_1Placeholder*
dtype0*
shape:

call_1Acoshx_1*
T0
.
x_2Placeholder*
dtype0*
shape:

call_2Acoshx_2*
T0
.
x_3Placeholder*
dtype0*
shape:

call_3Acoshx_3*
T0
.
x_4Placeholder*
dtype0*
shape:

call_4Acoshx_4*
T0"ª