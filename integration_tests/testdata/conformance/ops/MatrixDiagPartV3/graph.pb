
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
Y
call_0MatrixDiagPartV3input_0k_0padding_value_0*
T0*
align
RIGHT_LEFT
2
input_1Placeholder*
dtype0*
shape:
.
k_1Placeholder*
dtype0*
shape:
:
padding_value_1Placeholder*
dtype0*
shape:
Y
call_1MatrixDiagPartV3input_1k_1padding_value_1*
T0*
align
LEFT_RIGHT
2
input_2Placeholder*
dtype0*
shape:
.
k_2Placeholder*
dtype0*
shape:
:
padding_value_2Placeholder*
dtype0*
shape:
X
call_2MatrixDiagPartV3input_2k_2padding_value_2*
T0*
align	LEFT_LEFT
2
input_3Placeholder*
dtype0*
shape:
.
k_3Placeholder*
dtype0*
shape:
:
padding_value_3Placeholder*
dtype0*
shape:
Z
call_3MatrixDiagPartV3input_3k_3padding_value_3*
T0*
alignRIGHT_RIGHT
2
input_4Placeholder*
dtype0*
shape:
.
k_4Placeholder*
dtype0*
shape:
:
padding_value_4Placeholder*
dtype0*
shape:
Y
call_4MatrixDiagPartV3input_4k_4padding_value_4*
T0*
align
RIGHT_LEFT
2
input_5Placeholder*
dtype0*
shape:
.
k_5Placeholder*
dtype0*
shape:
:
padding_value_5Placeholder*
dtype0*
shape:
Y
call_5MatrixDiagPartV3input_5k_5padding_value_5*
T0*
align
RIGHT_LEFT
2
input_6Placeholder*
dtype0*
shape:
.
k_6Placeholder*
dtype0*
shape:
:
padding_value_6Placeholder*
dtype0*
shape:
Y
call_6MatrixDiagPartV3input_6k_6padding_value_6*
T0*
align
RIGHT_LEFT
2
input_7Placeholder*
dtype0*
shape:
.
k_7Placeholder*
dtype0*
shape:
:
padding_value_7Placeholder*
dtype0*
shape:
Y
call_7MatrixDiagPartV3input_7k_7padding_value_7*
T0*
align
RIGHT_LEFT
2
input_8Placeholder*
dtype0*
shape:
.
k_8Placeholder*
dtype0*
shape:
:
padding_value_8Placeholder*
dtype0*
shape:
Y
call_8MatrixDiagPartV3input_8k_8padding_value_8*
T0*
align
RIGHT_LEFT
2
input_9Placeholder*
dtype0*
shape:
.
k_9Placeholder*
dtype0*
shape:
:
padding_value_9Placeholder*
dtype0*
shape:
Y
call_9MatrixDiagPartV3input_9k_9padding_value_9*
T0*
align
RIGHT_LEFT
3
input_10Placeholder*
dtype0	*
shape:
/
k_10Placeholder*
dtype0*
shape:
;
padding_value_10Placeholder*
dtype0	*
shape:
]
call_10MatrixDiagPartV3input_10k_10padding_value_10*
T0	*
align
RIGHT_LEFT
3
input_11Placeholder*
dtype0*
shape:
/
k_11Placeholder*
dtype0*
shape:
;
padding_value_11Placeholder*
dtype0*
shape:
]
call_11MatrixDiagPartV3input_11k_11padding_value_11*
T0*
align
RIGHT_LEFT
3
input_12Placeholder*
dtype0*
shape:
/
k_12Placeholder*
dtype0*
shape:
;
padding_value_12Placeholder*
dtype0*
shape:
]
call_12MatrixDiagPartV3input_12k_12padding_value_12*
T0*
align
RIGHT_LEFT
3
input_13Placeholder*
dtype0*
shape:
/
k_13Placeholder*
dtype0*
shape:
;
padding_value_13Placeholder*
dtype0*
shape:
]
call_13MatrixDiagPartV3input_13k_13padding_value_13*
T0*
align
RIGHT_LEFT
3
input_14Placeholder*
dtype0*
shape:
/
k_14Placeholder*
dtype0*
shape:
;
padding_value_14Placeholder*
dtype0*
shape:
]
call_14MatrixDiagPartV3input_14k_14padding_value_14*
T0*
align
RIGHT_LEFT
3
input_15Placeholder*
dtype0*
shape:
/
k_15Placeholder*
dtype0*
shape:
;
padding_value_15Placeholder*
dtype0*
shape:
]
call_15MatrixDiagPartV3input_15k_15padding_value_15*
T0*
align
RIGHT_LEFT
3
input_16Placeholder*
dtype0*
shape:
/
k_16Placeholder*
dtype0*
shape:
;
padding_value_16Placeholder*
dtype0*
shape:
]
call_16MatrixDiagPartV3input_16k_16padding_value_16*
T0*
align
RIGHT_LEFT
3
input_17Placeholder*
dtype0
*
shape:
/
k_17Placeholder*
dtype0*
shape:
;
padding_value_17Placeholder*
dtype0
*
shape:
]
call_17MatrixDiagPartV3input_17k_17padding_value_17*
T0
*
align
RIGHT_LEFT"