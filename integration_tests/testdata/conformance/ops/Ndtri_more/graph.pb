
.
x_0Placeholder*
dtype0*
shape:

call_0Ndtrix_0*
T0
.
x_1Placeholder*
dtype0*
shape:

call_1Ndtrix_1*
T0"ª