
/
x1_0Placeholder*
dtype0*
shape:
/
x2_0Placeholder*
dtype0*
shape:
(
call_0	NextAfterx1_0x2_0*
T0
/
x1_1Placeholder*
dtype0*
shape:
/
x2_1Placeholder*
dtype0*
shape:
(
call_1	NextAfterx1_1x2_1*
T0"ª