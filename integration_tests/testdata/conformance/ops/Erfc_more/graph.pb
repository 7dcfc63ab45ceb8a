
.
x_0Placeholder*
dtype0*
shape:

call_0Erfcx_0*
T0
.
x_1Placeholder*
dtype0*
shape:

call_1Erfcx_1*
T0
.
x_2Placeholder*
dtype0*
shape:

call_2Erfcx_2*
T0
.
x_3Placeholder*
dtype0*
shape:

call_3Erfcx_3*
T0"ª