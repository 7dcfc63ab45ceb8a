
2
input_0Placeholder*
dtype0*
shape:
5

paddings_0Placeholder*
dtype0*
shape:
W
call_0SpaceToBatchinput_0
paddings_0*
	Tpaddings0*
T0*

block_size
2
input_1Placeholder*
dtype0*
shape:
5

paddings_1Placeholder*
dtype0*
shape:
W
call_1SpaceToBatchinput_1
paddings_1*
	Tpaddings0*
T0*

block_size"ª