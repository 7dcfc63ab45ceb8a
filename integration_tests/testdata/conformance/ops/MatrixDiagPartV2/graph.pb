
2
input_0Placeholder*
dtype0*
shape:
.
k_0Placeholder*
dtype0*
shape:
:
padding_value_0Placeholder*
dtype0*
shape:
B
call_0MatrixDiagPartV2input_0k_0padding_value_0*
T0
2
input_1Placeholder*
dtype0*
shape:
.
k_1Placeholder*
dtype0*
shape:
:
padding_value_1Placeholder*
dtype0*
shape:
B
call_1MatrixDiagPartV2input_1k_1padding_value_1*
T0
2
input_2Placeholder*
dtype0*
shape:
.
k_2Placeholder*
dtype0*
shape:
:
padding_value_2Placeholder*
dtype0*
shape:
B
call_2MatrixDiagPartV2input_2k_2padding_value_2*
T0
2
input_3Placeholder*
dtype0*
shape:
.
k_3Placeholder*
dtype0*
shape:
:
padding_value_3Placeholder*
dtype0*
shape:
B
call_3MatrixDiagPartV2input_3k_3padding_value_3*
T0
2
input_4Placeholder*
dtype0*
shape:
.
k_4Placeholder*
dtype0*
shape:
:
padding_value_4Placeholder*
dtype0*
shape:
B
call_4MatrixDiagPartV2input_4k_4padding_value_4*
T0
2
input_5Placeholder*
dtype0*
shape:
.
k_5Placeholder*
dtype0*
shape:
:
padding_value_5Placeholder*
dtype0*
shape:
B
call_5MatrixDiagPartV2input_5k_5padding_value_5*
T0
2
input_6Placeholder*
dtype0*
shape:
.
k_6Placeholder*
dtype0*
shape:
:
padding_value_6Placeholder*
dtype0*
shape:
B
call_6MatrixDiagPartV2input_6k_6padding_value_6*
T0
2
input_7Placeholder*
dtype0	*
shape:
.
k_7Placeholder*
dtype0*
shape:
:
padding_value_7Placeholder*
dtype0	*
shape:
B
call_7MatrixDiagPartV2input_7k_7padding_value_7*
T0	
2
input_8Placeholder*
dtype0*
shape:
.
k_8Placeholder*
dtype0*
shape:
:
padding_value_8Placeholder*
dtype0*
shape:
B
call_8MatrixDiagPartV2input_8k_8padding_value_8*
T0
2
input_9Placeholder*
dtype0*
shape:
.
k_9Placeholder*
dtype0*
shape:
:
padding_value_9Placeholder*
dtype0*
shape:
B
call_9MatrixDiagPartV2input_9k_9padding_value_9*
T0
3
input_10Placeholder*
dtype0*
shape:
/
k_10Placeholder*
dtype0*
shape:
;
padding_value_10Placeholder*
dtype0*
shape:
F
call_10MatrixDiagPartV2input_10k_10padding_value_10*
T0
3
input_11Placeholder*
dtype0*
shape:
/
k_11Placeholder*
dtype0*
shape:
;
padding_value_11Placeholder*
dtype0*
shape:
F
call_11MatrixDiagPartV2input_11k_11padding_value_11*
T0
3
input_12Placeholder*
dtype0*
shape:
/
k_12Placeholder*
dtype0*
shape:
;
padding_value_12Placeholder*
dtype0*
shape:
F
call_12MatrixDiagPartV2input_12k_12padding_value_12*
T0
3
input_13Placeholder*
dtype0*
shape:
/
k_13Placeholder*
dtype0*
shape:
;
padding_value_13Placeholder*
dtype0*
shape:
F
call_13MatrixDiagPartV2input_13k_13padding_value_13*
T0
3
input_14Placeholder*
dtype0
*
shape:
/
k_14Placeholder*
dtype0*
shape:
;
padding_value_14Placeholder*
dtype0
*
shape:
F
call_14MatrixDiagPartV2input_14k_14padding_value_14*
T0
"