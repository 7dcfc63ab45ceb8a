
@
input_0Placeholder*
dtype0*
shape:
:
block_shape_0Placeholder*
dtype0*
shape:
8
crops_0Placeholder*
dtype0*
shape
:
d
call_0BatchToSpaceNDinput_0block_shape_0crops_0*
Tblock_shape0*
Tcrops0*
T0
@
input_1Placeholder*
dtype0*
shape:
:
block_shape_1Placeholder*
dtype0*
shape:
8
crops_1Placeholder*
dtype0*
shape
:
d
call_1BatchToSpaceNDinput_1block_shape_1crops_1*
Tblock_shape0*
Tcrops0*
T0"ª