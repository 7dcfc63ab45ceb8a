
7
serialized_0Placeholder*
dtype0*
shape:
3
call_0ParseTensorserialized_0*
out_type0
7
serialized_1Placeholder*
dtype0*
shape:
3
call_1ParseTensorserialized_1*
out_type0
7
serialized_2Placeholder*
dtype0*
shape:
3
call_2ParseTensorserialized_2*
out_type0
7
serialized_3Placeholder*
dtype0*
shape:
3
call_3ParseTensorserialized_3*
out_type0	
7
serialized_4Placeholder*
dtype0*
shape:
3
call_4ParseTensorserialized_4*
out_type0
7
serialized_5Placeholder*
dtype0*
shape:
3
call_5ParseTensorserialized_5*
out_type0
7
serialized_6Placeholder*
dtype0*
shape:
3
call_6ParseTensorserialized_6*
out_type0

7
serialized_7Placeholder*
dtype0*
shape:
3
call_7ParseTensorserialized_7*
out_type0
7
serialized_8Placeholder*
dtype0*
shape:
3
call_8ParseTensorserialized_8*
out_type0
7
serialized_9Placeholder*
dtype0*
shape:
3
call_9ParseTensorserialized_9*
out_type0"ª