
5

diagonal_0Placeholder*
dtype0*
shape:
.
k_0Placeholder*
dtype0*
shape:
5

num_rows_0Placeholder*
dtype0*
shape:
5

num_cols_0Placeholder*
dtype0*
shape:
:
padding_value_0Placeholder*
dtype0*
shape:
p
call_0MatrixDiagV3
diagonal_0k_0
num_rows_0
num_cols_0padding_value_0*
T0*
align
RIGHT_LEFT
5

diagonal_1Placeholder*
dtype0*
shape:
.
k_1Placeholder*
dtype0*
shape:
5

num_rows_1Placeholder*
dtype0*
shape:
5

num_cols_1Placeholder*
dtype0*
shape:
:
padding_value_1Placeholder*
dtype0*
shape:
p
call_1MatrixDiagV3
diagonal_1k_1
num_rows_1
num_cols_1padding_value_1*
T0*
align
LEFT_RIGHT
5

diagonal_2Placeholder*
dtype0*
shape:
.
k_2Placeholder*
dtype0*
shape:
5

num_rows_2Placeholder*
dtype0*
shape:
5

num_cols_2Placeholder*
dtype0*
shape:
:
padding_value_2Placeholder*
dtype0*
shape:
o
call_2MatrixDiagV3
diagonal_2k_2
num_rows_2
num_cols_2padding_value_2*
T0*
align	LEFT_LEFT
5

diagonal_3Placeholder*
dtype0*
shape:
.
k_3Placeholder*
dtype0*
shape:
5

num_rows_3Placeholder*
dtype0*
shape:
5

num_cols_3Placeholder*
dtype0*
shape:
:
padding_value_3Placeholder*
dtype0*
shape:
q
call_3MatrixDiagV3
diagonal_3k_3
num_rows_3
num_cols_3padding_value_3*
T0*
alignRIGHT_RIGHT
5

diagonal_4Placeholder*
dtype0*
shape:
.
k_4Placeholder*
dtype0*
shape:
5

num_rows_4Placeholder*
dtype0*
shape:
5

num_cols_4Placeholder*
dtype0*
shape:
:
padding_value_4Placeholder*
dtype0*
shape:
p
call_4MatrixDiagV3
diagonal_4k_4
num_rows_4
num_cols_4padding_value_4*
T0*
align
RIGHT_LEFT
5

diagonal_5Placeholder*
dtype0*
shape:
.
k_5Placeholder*
dtype0*
shape:
5

num_rows_5Placeholder*
dtype0*
shape:
5

num_cols_5Placeholder*
dtype0*
shape:
:
padding_value_5Placeholder*
dtype0*
shape:
p
call_5MatrixDiagV3
diagonal_5k_5
num_rows_5
num_cols_5padding_value_5*
T0*
align
RIGHT_LEFT
5

diagonal_6Placeholder*
dtype0*
shape:
.
k_6Placeholder*
dtype0*
shape:
5

num_rows_6Placeholder*
dtype0*
shape:
5

num_cols_6Placeholder*
dtype0*
shape:
:
padding_value_6Placeholder*
dtype0*
shape:
p
call_6MatrixDiagV3
diagonal_6k_6
num_rows_6
num_cols_6padding_value_6*
T0*
align
RIGHT_LEFT
5

diagonal_7Placeholder*
dtype0*
shape:
.
k_7Placeholder*
dtype0*
shape:
5

num_rows_7Placeholder*
dtype0*
shape:
5

num_cols_7Placeholder*
dtype0*
shape:
:
padding_value_7Placeholder*
dtype0*
shape:
p
call_7MatrixDiagV3
diagonal_7k_7
num_rows_7
num_cols_7padding_value_7*
T0*
align
RIGHT_LEFT
5

diagonal_8Placeholder*
dtype0*
shape:
.
k_8Placeholder*
dtype0*
shape:
5

num_rows_8Placeholder*
dtype0*
shape:
5

num_cols_8Placeholder*
dtype0*
shape:
:
padding_value_8Placeholder*
dtype0*
shape:
p
call_8MatrixDiagV3
diagonal_8k_8
num_rows_8
num_cols_8padding_value_8*
T0*
align
RIGHT_LEFT
5

diagonal_9Placeholder*
dtype0*
shape:
.
k_9Placeholder*
dtype0*
shape:
5

num_rows_9Placeholder*
dtype0*
shape:
5

num_cols_9Placeholder*
dtype0*
shape:
:
padding_value_9Placeholder*
dtype0*
shape:
p
call_9MatrixDiagV3
diagonal_9k_9
num_rows_9
num_cols_9padding_value_9*
T0*
align
RIGHT_LEFT
6
diagonal_10Placeholder*
dtype0	*
shape:
/
k_10Placeholder*
dtype0*
shape:
6
num_rows_10Placeholder*
dtype0*
shape:
6
num_cols_10Placeholder*
dtype0*
shape:
;
padding_value_10Placeholder*
dtype0	*
shape:
v
call_10MatrixDiagV3diagonal_10k_10num_rows_10num_cols_10padding_value_10*
T0	*
align
RIGHT_LEFT
6
diagonal_11Placeholder*
dtype0*
shape:
/
k_11Placeholder*
dtype0*
shape:
6
num_rows_11Placeholder*
dtype0*
shape:
6
num_cols_11Placeholder*
dtype0*
shape:
;
padding_value_11Placeholder*
dtype0*
shape:
v
call_11MatrixDiagV3diagonal_11k_11num_rows_11num_cols_11padding_value_11*
T0*
align
RIGHT_LEFT
6
diagonal_12Placeholder*
dtype0*
shape:
/
k_12Placeholder*
dtype0*
shape:
6
num_rows_12Placeholder*
dtype0*
shape:
6
num_cols_12Placeholder*
dtype0*
shape:
;
padding_value_12Placeholder*
dtype0*
shape:
v
call_12MatrixDiagV3diagonal_12k_12num_rows_12num_cols_12padding_value_12*
T0*
align
RIGHT_LEFT
6
diagonal_13Placeholder*
dtype0*
shape:
/
k_13Placeholder*
dtype0*
shape:
6
num_rows_13Placeholder*
dtype0*
shape:
6
num_cols_13Placeholder*
dtype0*
shape:
;
padding_value_13Placeholder*
dtype0*
shape:
v
call_13MatrixDiagV3diagonal_13k_13num_rows_13num_cols_13padding_value_13*
T0*
align
RIGHT_LEFT
6
diagonal_14Placeholder*
dtype0*
shape:
/
k_14Placeholder*
dtype0*
shape:
6
num_rows_14Placeholder*
dtype0*
shape:
6
num_cols_14Placeholder*
dtype0*
shape:
;
padding_value_14Placeholder*
dtype0*
shape:
v
call_14MatrixDiagV3diagonal_14k_14num_rows_14num_cols_14padding_value_14*
T0*
align
RIGHT_LEFT
6
diagonal_15Placeholder*
dtype0*
shape:
/
k_15Placeholder*
dtype0*
shape:
6
num_rows_15Placeholder*
dtype0*
shape:
6
num_cols_15Placeholder*
dtype0*
shape:
;
padding_value_15Placeholder*
dtype0*
shape:
v
call_15MatrixDiagV3diagonal_15k_15num_rows_15num_cols_15padding_value_15*
T0*
align
RIGHT_LEFT
6
diagonal_16Placeholder*
dtype0*
shape:
/
k_16Placeholder*
dtype0*
shape:
6
num_rows_16Placeholder*
dtype0*
shape:
6
num_cols_16Placeholder*
dtype0*
shape:
;
padding_value_16Placeholder*
dtype0*
shape:
v
call_16MatrixDiagV3diagonal_16k_16num_rows_16num_cols_16padding_value_16*
T0*
align
RIGHT_LEFT
6
diagonal_17Placeholder*
dtype0
*
shape:
/
k_17Placeholder*
dtype0*
shape:
6
num_rows_17Placeholder*
dtype0*
shape:
6
num_cols_17Placeholder*
dtype0*
shape:
;
padding_value_17Placeholder*
dtype0
*
shape:
v
call_17MatrixDiagV3diagonal_17k_17num_rows_17num_cols_17padding_value_17*
T0
*
align
RIGHT_LEFT"