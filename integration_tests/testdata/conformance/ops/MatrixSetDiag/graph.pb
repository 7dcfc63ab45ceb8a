
2
input_0Placeholder*
dtype0*
shape:
5

diagonal_0Placeholder*
dtype0*
shape:
5
call_0MatrixSetDiaginput_0
diagonal_0*
T0
2
input_1Placeholder*
dtype0*
shape:
5

diagonal_1Placeholder*
dtype0*
shape:
5
call_1MatrixSetDiaginput_1
diagonal_1*
T0
2
input_2Placeholder*
dtype0*
shape:
5

diagonal_2Placeholder*
dtype0*
shape:
5
call_2MatrixSetDiaginput_2
diagonal_2*
T0
2
input_3Placeholder*
dtype0*
shape:
5

diagonal_3Placeholder*
dtype0*
shape:
5
call_3MatrixSetDiaginput_3
diagonal_3*
T0
2
input_4Placeholder*
dtype0*
shape:
5

diagonal_4Placeholder*
dtype0*
shape:
5
call_4MatrixSetDiaginput_4
diagonal_4*
T0
2
input_5Placeholder*
dtype0*
shape:
5

diagonal_5Placeholder*
dtype0*
shape:
5
call_5MatrixSetDiaginput_5
diagonal_5*
T0
2
input_6Placeholder*
dtype0*
shape:
5

diagonal_6Placeholder*
dtype0*
shape:
5
call_6MatrixSetDiaginput_6
diagonal_6*
T0
2
input_7Placeholder*
dtype0	*
shape:
5

diagonal_7Placeholder*
dtype0	*
shape:
5
call_7MatrixSetDiaginput_7
diagonal_7*
T0	
2
input_8Placeholder*
dtype0*
shape:
5

diagonal_8Placeholder*
dtype0*
shape:
5
call_8MatrixSetDiaginput_8
diagonal_8*
T0
2
input_9Placeholder*
dtype0*
shape:
5

diagonal_9Placeholder*
dtype0*
shape:
5
call_9MatrixSetDiaginput_9
diagonal_9*
T0
3
input_10Placeholder*
dtype0*
shape:
6
diagonal_10Placeholder*
dtype0*
shape:
8
call_10MatrixSetDiaginput_10diagonal_10*
T0
3
input_11Placeholder*
dtype0*
shape:
6
diagonal_11Placeholder*
dtype0*
shape:
8
call_11MatrixSetDiaginput_11diagonal_11*
T0
3
input_12Placeholder*
dtype0*
shape:
6
diagonal_12Placeholder*
dtype0*
shape:
8
call_12MatrixSetDiaginput_12diagonal_12*
T0
3
input_13Placeholder*
dtype0*
shape:
6
diagonal_13Placeholder*
dtype0*
shape:
8
call_13MatrixSetDiaginput_13diagonal_13*
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
8
call_14MatrixSetDiaginput_14diagonal_14*
T0
"