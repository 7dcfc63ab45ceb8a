
3
tensor_0Placeholder*
dtype0*
shape:
,
call_0SerializeTensortensor_0*
T0
3
tensor_1Placeholder*
dtype0*
shape:
,
call_1SerializeTensortensor_1*
T0
3
tensor_2Placeholder*
dtype0	*
shape:
,
call_2SerializeTensortensor_2*
T0	
3
tensor_3Placeholder*
dtype0*
shape:
,
call_3SerializeTensortensor_3*
T0
3
tensor_4Placeholder*
dtype0*
shape:
,
call_4SerializeTensortensor_4*
T0
3
tensor_5Placeholder*
dtype0
*
shape:
,
call_5SerializeTensortensor_5*
T0

3
tensor_6Placeholder*
dtype0*
shape:
,
call_6SerializeTensortensor_6*
T0
3
tensor_7Placeholder*
dtype0*
shape:
,
call_7SerializeTensortensor_7*
T0
3
tensor_8Placeholder*
dtype0*
shape:
,
call_8SerializeTensortensor_8*
T0
3
tensor_9Placeholder*
dtype0*
shape:
,
call_9SerializeTensortensor_9*
T0
4
	tensor_10Placeholder*
dtype0*
shape:
.
call_10SerializeTensor	tensor_10*
T0
4
	tensor_11Placeholder*
dtype0*
shape:
.
call_11SerializeTensor	tensor_11*
T0
4
	tensor_12Placeholder*
dtype0*
shape:
.
call_12SerializeTensor	tensor_12*
T0
4
	tensor_13Placeholder*
dtype0*
shape:
.
call_13SerializeTensor	tensor_13*
T0
4
	tensor_14Placeholder*
dtype0*
shape:
.
call_14SerializeTensor	tensor_14*
T0"ª