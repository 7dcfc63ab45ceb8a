
2
input_0Placeholder*
dtype0*
shape:
/
call_0BatchMatrixDiagPartinput_0*
T0
2
input_1Placeholder*
dtype0*
shape:
/
call_1BatchMatrixDiagPartinput_1*
T0
2
input_2Placeholder*
dtype0*
shape:
/
call_2BatchMatrixDiagPartinput_2*
T0
2
input_3Placeholder*
dtype0*
shape:
/
call_3BatchMatrixDiagPartinput_3*
T0
2
input_4Placeholder*
dtype0*
shape:
/
call_4BatchMatrixDiagPartinput_4*
T0
2
input_5Placeholder*
dtype0*
shape:
/
call_5BatchMatrixDiagPartinput_5*
T0
2
input_6Placeholder*
dtype0*
shape:
/
call_6BatchMatrixDiagPartinput_6*
T0
2
input_7Placeholder*
dtype0	*
shape:
/
call_7BatchMatrixDiagPartinput_7*
T0	
2
input_8Placeholder*
dtype0*
shape:
/
call_8BatchMatrixDiagPartinput_8*
T0
2
input_9Placeholder*
dtype0*
shape:
/
call_9BatchMatrixDiagPartinput_9*
T0
3
input_10Placeholder*
dtype0*
shape:
1
call_10BatchMatrixDiagPartinput_10*
T0
3
input_11Placeholder*
dtype0*
shape:
1
call_11BatchMatrixDiagPartinput_11*
T0
3
input_12Placeholder*
dtype0*
shape:
1
call_12BatchMatrixDiagPartinput_12*
T0
3
input_13Placeholder*
dtype0*
shape:
1
call_13BatchMatrixDiagPartinput_13*
T0
3
input_14Placeholder*
dtype0
*
shape:
1
call_14BatchMatrixDiagPartinput_14*
T0
"