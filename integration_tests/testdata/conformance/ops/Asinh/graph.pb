
.
x_0Placeholder*
dtype0*
shape:

call_0Asinhx_0*
T0
.
x_1Placeholder*
dtype0*
shape:

call_1Asinhx_1*
T0
.
x_2Placeholder*
dtype0*
shape:

call_2Asinhx_2*
T0
.
x_3Placeholder*
dtype0*
shape:

call_3Asinhx_3*
T0
.
x_4Placeholder*
dtype0*
shape:

call_4Asinhx_4*
T0"ª