
2
input_0Placeholder*
dtype0*
shape:
6
num_lower_0Placeholder*
dtype0	*
shape:
6
num_upper_0Placeholder*
dtype0	*
shape:
I
call_0BatchMatrixBandPartinput_0num_lower_0num_upper_0*
T0
2
input_1Placeholder*
dtype0*
shape:
6
num_lower_1Placeholder*
dtype0	*
shape:
6
num_upper_1Placeholder*
dtype0	*
shape:
I
call_1BatchMatrixBandPartinput_1num_lower_1num_upper_1*
T0
2
input_2Placeholder*
dtype0*
shape:
6
num_lower_2Placeholder*
dtype0	*
shape:
6
num_upper_2Placeholder*
dtype0	*
shape:
I
call_2BatchMatrixBandPartinput_2num_lower_2num_upper_2*
T0
2
input_3Placeholder*
dtype0*
shape:
6
num_lower_3Placeholder*
dtype0	*
shape:
6
num_upper_3Placeholder*
dtype0	*
shape:
I
call_3BatchMatrixBandPartinput_3num_lower_3num_upper_3*
T0
2
input_4Placeholder*
dtype0*
shape:
6
num_lower_4Placeholder*
dtype0	*
shape:
6
num_upper_4Placeholder*
dtype0	*
shape:
I
call_4BatchMatrixBandPartinput_4num_lower_4num_upper_4*
T0
2
input_5Placeholder*
dtype0*
shape:
6
num_lower_5Placeholder*
dtype0	*
shape:
6
num_upper_5Placeholder*
dtype0	*
shape:
I
call_5BatchMatrixBandPartinput_5num_lower_5num_upper_5*
T0
2
input_6Placeholder*
dtype0	*
shape:
6
num_lower_6Placeholder*
dtype0	*
shape:
6
num_upper_6Placeholder*
dtype0	*
shape:
I
call_6BatchMatrixBandPartinput_6num_lower_6num_upper_6*
T0	
2
input_7Placeholder*
dtype0*
shape:
6
num_lower_7Placeholder*
dtype0	*
shape:
6
num_upper_7Placeholder*
dtype0	*
shape:
I
call_7BatchMatrixBandPartinput_7num_lower_7num_upper_7*
T0
2
input_8Placeholder*
dtype0*
shape:
6
num_lower_8Placeholder*
dtype0	*
shape:
6
num_upper_8Placeholder*
dtype0	*
shape:
I
call_8BatchMatrixBandPartinput_8num_lower_8num_upper_8*
T0
2
input_9Placeholder*
dtype0*
shape:
6
num_lower_9Placeholder*
dtype0	*
shape:
6
num_upper_9Placeholder*
dtype0	*
shape:
I
call_9BatchMatrixBandPartinput_9num_lower_9num_upper_9*
T0
3
input_10Placeholder*
dtype0*
shape:
7
num_lower_10Placeholder*
dtype0	*
shape:
7
num_upper_10Placeholder*
dtype0	*
shape:
M
call_10BatchMatrixBandPartinput_10num_lower_10num_upper_10*
T0
3
input_11Placeholder*
dtype0*
shape:
7
num_lower_11Placeholder*
dtype0	*
shape:
7
num_upper_11Placeholder*
dtype0	*
shape:
M
call_11BatchMatrixBandPartinput_11num_lower_11num_upper_11*
T0
3
input_12Placeholder*
dtype0*
shape:
7
num_lower_12Placeholder*
dtype0	*
shape:
7
num_upper_12Placeholder*
dtype0	*
shape:
M
call_12BatchMatrixBandPartinput_12num_lower_12num_upper_12*
T0"