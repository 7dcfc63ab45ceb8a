
.
x_0Placeholder*
dtype0*
shape:

call_0Invertx_0*
T0
.
x_1Placeholder*
dtype0*
shape:

call_1Invertx_1*
T0
.
x_2Placeholder*
dtype0*
shape:

call_2Invertx_2*
T0
.
x_3Placeholder*
dtype0*
shape:

call_3Invertx_3*
T0
.
x_4Placeholder*
dtype0*
shape:

call_4Invertx_4*
T0
.
x_5Placeholder*
dtype0*
shape:

call_5Invertx_5*
T0
.
x_6Placeholder*
dtype0	*
shape:

call_6Invertx_6*
T0	
.
x_7Placeholder*
dtype0*
shape:

call_7Invertx_7*
T0"ª