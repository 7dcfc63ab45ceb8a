
2
input_0Placeholder*
dtype0*
shape:
Q
call_0DepthToSpaceinput_0*
T0*

block_size*
data_formatNHWC
2
input_1Placeholder*
dtype0*
shape:
Q
call_1DepthToSpaceinput_1*
T0*

block_size*
data_formatNHWC"ª