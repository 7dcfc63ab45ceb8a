
.
x_0Placeholder*
dtype0*
shape:
.
y_0Placeholder*
dtype0*
shape:
"
call_0Xlogyx_0y_0*
T0
.
x_1Placeholder*
dtype0*
shape:
.
y_1Placeholder*
dtype0*
shape:
"
call_1Xlogyx_1y_1*
T0
.
x_2Placeholder*
dtype0*
shape:
.
y_2Placeholder*
dtype0*
shape:
"
call_2Xlogyx_2y_2*
T0
.
x_3Placeholder*
dtype0*
shape:
.
y_3Placeholder*
dtype0*
shape:
"
call_3Xlogyx_3y_3*
T0
.
x_4Placeholder*
dtype0*
shape:
.
y_4Placeholder*
dtype0*
shape:
"
call_4Xlogyx_4y_4*
T0"ª