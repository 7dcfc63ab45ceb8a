
2
input_0Placeholder*
dtype0*
shape:
0
pos_0Placeholder*
dtype0*
shape:
0
len_0Placeholder*
dtype0*
shape:
@
call_0Substrinput_0pos_0len_0*
T0*
unitBYTE
2
input_1Placeholder*
dtype0*
shape:
0
pos_1Placeholder*
dtype0*
shape:
0
len_1Placeholder*
dtype0*
shape:
E
call_1Substrinput_1pos_1len_1*
T0*
unit	UTF8_CHAR"ª