
9
x0_0Placeholder*
dtype0*
shape:
2
f0/MatrixDiagPartMatrixDiagPartx0_0*
T0
,
f0/yIdentityf0/MatrixDiagPart*
T0
L
dy0Const*
dtype0*1
value(B&"7‰Ñ?ƒÀj?ßO-?“”?w¾ß>åÐ²?
9
x1_0Placeholder*
dtype0*
shape:
2
f1/MatrixDiagPartMatrixDiagPartx1_0*
T0
,
f1/yIdentityf1/MatrixDiagPart*
T0
L
dy1Const*
dtype0*1
value(B&"ƒÀj?ßO-?åÐ²?w¾ß>“”?7‰Ñ?
5
x2_0Placeholder*
dtype0*
shape
:
2
f2/MatrixDiagPartMatrixDiagPartx2_0*
T0
,
f2/yIdentityf2/MatrixDiagPart*
T0
8
dy2Const*
dtype0*
valueB"7‰Ñ?w¾ß>"ª