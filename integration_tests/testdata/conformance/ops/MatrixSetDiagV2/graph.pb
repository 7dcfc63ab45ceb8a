
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
<
call_0MatrixSetDiagV2input_0
diagonal_0k_0*
T0
2
input_1Placeholder*
dtype0*
shape:
5

diagonal_1Placeholder*
dtype0*
shape:
.
k_1Placeholder*
dtype0*
shape:
<
call_1MatrixSetDiagV2input_1
diagonal_1k_1*
T0
2
input_2Placeholder*
dtype0*
shape:
5

diagonal_2Placeholder*
dtype0*
shape:
.
k_2Placeholder*
dtype0*
shape:
<
call_2MatrixSetDiagV2input_2
diagonal_2k_2*
T0
2
input_3Placeholder*
dtype0*
shape:
5

diagonal_3Placeholder*
dtype0*
shape:
.
k_3Placeholder*
dtype0*
shape:
<
call_3MatrixSetDiagV2input_3
diagonal_3k_3*
T0
2
input_4Placeholder*
dtype0*
shape:
5

diagonal_4Placeholder*
dtype0*
shape:
.
k_4Placeholder*
dtype0*
shape:
<
call_4MatrixSetDiagV2input_4
diagonal_4k_4*
T0
2
input_5Placeholder*
dtype0*
shape:
5

diagonal_5Placeholder*
dtype0*
shape:
.
k_5Placeholder*
dtype0*
shape:
<
call_5MatrixSetDiagV2input_5
diagonal_5k_5*
T0
2
input_6Placeholder*
dtype0*
shape:
5

diagonal_6Placeholder*
dtype0*
shape:
.
k_6Placeholder*
dtype0*
shape:
<
call_6MatrixSetDiagV2input_6
diagonal_6k_6*
T0
2
input_7Placeholder*
dtype0	*
shape:
5

diagonal_7Placeholder*
dtype0	*
shape:
.
k_7Placeholder*
dtype0*
shape:
<
call_7MatrixSetDiagV2input_7
diagonal_7k_7*
T0	
2
input_8Placeholder*
dtype0*
shape:
5

diagonal_8Placeholder*
dtype0*
shape:
.
k_8Placeholder*
dtype0*
shape:
<
call_8MatrixSetDiagV2input_8
diagonal_8k_8*
T0
2
input_9Placeholder*
dtype0*
shape:
5

diagonal_9Placeholder*
dtype0*
shape:
.
k_9Placeholder*
dtype0*
shape:
<
call_9MatrixSetDiagV2input_9
diagonal_9k_9*
T0
3
input_10Placeholder*
dtype0*
shape:
6
diagonal_10Placeholder*
dtype0*
shape:
/
k_10Placeholder*
dtype0*
shape:
@
call_10MatrixSetDiagV2input_10diagonal_10k_10*
T0
3
input_11Placeholder*
dtype0*
shape:
6
diagonal_11Placeholder*
dtype0*
shape:
/
k_11Placeholder*
dtype0*
shape:
@
call_11MatrixSetDiagV2input_11diagonal_11k_11*
T0
3
input_12Placeholder*
dtype0*
shape:
6
diagonal_12Placeholder*
dtype0*
shape:
/
k_12Placeholder*
dtype0*
shape:
@
call_12MatrixSetDiagV2input_12diagonal_12k_12*
T0
3
input_13Placeholder*
dtype0*
shape:
6
diagonal_13Placeholder*
dtype0*
shape:
/
k_13Placeholder*
dtype0*
shape:
@
call_13MatrixSetDiagV2input_13diagonal_13k_13*
T0
3
input_14Placeholder*
dtype0
*
shape:
6
diagonal_14Placeholder*
dtype0
*
shape:
/
k_14Placeholder*
dtype0*
shape:
@
call_14MatrixSetDiagV2input_14diagonal_14k_14*
T0
"