
2
input_0Placeholder*
dtype0*
shape:
2
crops_0Placeholder*
dtype0*
shape:
O
call_0BatchToSpaceinput_0crops_0*

Tidx0*
T0*

block_size
2
input_1Placeholder*
dtype0*
shape:
2
crops_1Placeholder*
dtype0*
shape:
O
call_1BatchToSpaceinput_1crops_1*

Tidx0*
T0*

block_size"ª