
5

diagonal_0Placeholder*
dtype0*
shape:
.
call_0BatchMatrixDiag
diagonal_0*
T0
5

diagonal_1Placeholder*
dtype0*
shape:
.
call_1BatchMatrixDiag
diagonal_1*
T0
5

diagonal_2Placeholder*
dtype0*
shape:
.
call_2BatchMatrixDiag
diagonal_2*
T0
5

diagonal_3Placeholder*
dtype0*
shape:
.
call_3BatchMatrixDiag
diagonal_3*
T0
5

diagonal_4Placeholder*
dtype0*
shape:
.
call_4BatchMatrixDiag
diagonal_4*
T0
5

diagonal_5Placeholder*
dtype0*
shape:
.
call_5BatchMatrixDiag
diagonal_5*
T0
5

diagonal_6Placeholder*
dtype0*
shape:
.
call_6BatchMatrixDiag
diagonal_6*
T0
5

diagonal_7Placeholder*
dtype0	*
shape:
.
call_7BatchMatrixDiag
diagonal_7*
T0	
5

diagonal_8Placeholder*
dtype0*
shape:
.
call_8BatchMatrixDiag
diagonal_8*
T0
5

diagonal_9Placeholder*
dtype0*
shape:
.
call_9BatchMatrixDiag
diagonal_9*
T0
6
diagonal_10Placeholder*
dtype0*
shape:
0
call_10BatchMatrixDiagdiagonal_10*
T0
6
diagonal_11Placeholder*
dtype0*
shape:
0
call_11BatchMatrixDiagdiagonal_11*
T0
6
diagonal_12Placeholder*
dtype0*
shape:
0
call_12BatchMatrixDiagdiagonal_12*
T0
6
diagonal_13Placeholder*
dtype0*
shape:
0
call_13BatchMatrixDiagdiagonal_13*
T0
6
diagonal_14Placeholder*
dtype0
*
shape:
0
call_14BatchMatrixDiagdiagonal_14*
T0
"