
2
input_0Placeholder*
dtype0*
shape:
5

diagonal_0Placeholder*
dtype0*
shape:
.
k_0Placeholder*
dtype0*
shape:
S
call_0MatrixSetDiagV3input_0
diagonal_0k_0*
T0*
align
RIGHT_LEFT
2
input_1Placeholder*
dtype0*
shape:
5

diagonal_1Placeholder*
dtype0*
shape:
.
k_1Placeholder*
dtype0*
shape:
S
call_1MatrixSetDiagV3input_1
diagonal_1k_1*
T0*
align
LEFT_RIGHT
2
input_2Placeholder*
dtype0*
shape:
5

diagonal_2Placeholder*
dtype0*
shape:
.
k_2Placeholder*
dtype0*
shape:
R
call_2MatrixSetDiagV3input_2
diagonal_2k_2*
T0*
align	LEFT_LEFT
2
input_3Placeholder*
dtype0*
shape:
5

diagonal_3Placeholder*
dtype0*
shape:
.
k_3Placeholder*
dtype0*
shape:
T
call_3MatrixSetDiagV3input_3
diagonal_3k_3*
T0*
alignRIGHT_RIGHT
2
input_4Placeholder*
dtype0*
shape:
5

diagonal_4Placeholder*
dtype0*
shape:
.
k_4Placeholder*
dtype0*
shape:
S
call_4MatrixSetDiagV3input_4
diagonal_4k_4*
T0*
align
RIGHT_LEFT
2
input_5Placeholder*
dtype0*
shape:
5

diagonal_5Placeholder*
dtype0*
shape:
.
k_5Placeholder*
dtype0*
shape:
S
call_5MatrixSetDiagV3input_5
diagonal_5k_5*
T0*
align
RIGHT_LEFT
2
input_6Placeholder*
dtype0*
shape:
5

diagonal_6Placeholder*
dtype0*
shape:
.
k_6Placeholder*
dtype0*
shape:
S
call_6MatrixSetDiagV3input_6
diagonal_6k_6*
T0*
align
RIGHT_LEFT
2
input_7Placeholder*
dtype0*
shape:
5

diagonal_7Placeholder*
dtype0*
shape:
.
k_7Placeholder*
dtype0*
shape:
S
call_7MatrixSetDiagV3input_7
diagonal_7k_7*
T0*
align
RIGHT_LEFT
2
input_8Placeholder*
dtype0*
shape:
5

diagonal_8Placeholder*
dtype0*
shape:
.
k_8Placeholder*
dtype0*
shape:
S
call_8MatrixSetDiagV3input_8
diagonal_8k_8*
T0*
align
RIGHT_LEFT
2
input_9Placeholder*
dtype0*
shape:
5

diagonal_9Placeholder*
dtype0*
shape:
.
k_9Placeholder*
dtype0*
shape:
S
call_9MatrixSetDiagV3input_9
diagonal_9k_9*
T0*
align
RIGHT_LEFT
3
input_10Placeholder*
dtype0	*
shape:
6
diagonal_10Placeholder*
dtype0	*
shape:
/
k_10Placeholder*
dtype0*
shape:
W
call_10MatrixSetDiagV3input_10diagonal_10k_10*
T0	*
align
RIGHT_LEFT
3
input_11Placeholder*
dtype0*
shape:
6
diagonal_11Placeholder*
dtype0*
shape:
/
k_11Placeholder*
dtype0*
shape:
W
call_11MatrixSetDiagV3input_11diagonal_11k_11*
T0*
align
RIGHT_LEFT
3
input_12Placeholder*
dtype0*
shape:
6
diagonal_12Placeholder*
dtype0*
shape:
/
k_12Placeholder*
dtype0*
shape:
W
call_12MatrixSetDiagV3input_12diagonal_12k_12*
T0*
align
RIGHT_LEFT
3
input_13Placeholder*
dtype0*
shape:
6
diagonal_13Placeholder*
dtype0*
shape:
/
k_13Placeholder*
dtype0*
shape:
W
call_13MatrixSetDiagV3input_13diagonal_13k_13*
T0*
align
RIGHT_LEFT
3
input_14Placeholder*
dtype0*
shape:
6
diagonal_14Placeholder*
dtype0*
shape:
/
k_14Placeholder*
dtype0*
shape:
W
call_14MatrixSetDiagV3input_14diagonal_14k_14*
T0*
align
RIGHT_LEFT
3
input_15Placeholder*
dtype0*
shape:
6
diagonal_15Placeholder*
dtype0*
shape:
/
k_15Placeholder*
dtype0*
shape:
W
call_15MatrixSetDiagV3input_15diagonal_15k_15*
T0*
align
RIGHT_LEFT
3
input_16Placeholder*
dtype0*
shape:
6
diagonal_16Placeholder*
dtype0*
shape:
/
k_16Placeholder*
dtype0*
shape:
W
call_16MatrixSetDiagV3input_16diagonal_16k_16*
T0*
align
RIGHT_LEFT
3
input_17Placeholder*
dtype0
*
shape:
6
diagonal_17Placeholder*
dtype0
*
shape:
/
k_17Placeholder*
dtype0*
shape:
W
call_17MatrixSetDiagV3input_17diagonal_17k_17*
T0
*
align
RIGHT_LEFT"