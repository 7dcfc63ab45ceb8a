
2
input_0Placeholder*
dtype0*
shape:
/
call_0Bitcastinput_0*
T0*

type0
2
input_1Placeholder*
dtype0*
shape:
/
call_1Bitcastinput_1*
T0*

type0
2
input_2Placeholder*
dtype0*
shape:
/
call_2Bitcastinput_2*
T0*

type0
2
input_3Placeholder*
dtype0*
shape:
/
call_3Bitcastinput_3*
T0*

type0
2
input_4Placeholder*
dtype0*
shape:
/
call_4Bitcastinput_4*
T0*

type0
2
input_5Placeholder*
dtype0*
shape:
/
call_5Bitcastinput_5*
T0*

type0
2
input_6Placeholder*
dtype0*
shape:
/
call_6Bitcastinput_6*
T0*

type0
2
input_7Placeholder*
dtype0	*
shape:
/
call_7Bitcastinput_7*
T0	*

type0	
2
input_8Placeholder*
dtype0*
shape:
/
call_8Bitcastinput_8*
T0*

type0
2
input_9Placeholder*
dtype0*
shape:
/
call_9Bitcastinput_9*
T0*

type0
3
input_10Placeholder*
dtype0*
shape:
1
call_10Bitcastinput_10*
T0*

type0
3
input_11Placeholder*
dtype0*
shape:
1
call_11Bitcastinput_11*
T0*

type0
3
input_12Placeholder*
dtype0*
shape:
1
call_12Bitcastinput_12*
T0*

type0
3
input_13Placeholder*
dtype0*
shape:
1
call_13Bitcastinput_13*
T0*

type0
3
input_14Placeholder*
dtype0*
shape:
1
call_14Bitcastinput_14*
T0*

type0
3
input_15Placeholder*
dtype0*
shape:
1
call_15Bitcastinput_15*
T0*

type0
3
input_16Placeholder*
dtype0*
shape:
1
call_16Bitcastinput_16*
T0*

type0
3
input_17Placeholder*
dtype0*
shape:
1
call_17Bitcastinput_17*
T0*

type0
3
input_18Placeholder*
dtype0*
shape:
1
call_18Bitcastinput_18*
T0*

type0
3
input_19Placeholder*
dtype0*
shape:
1
call_19Bitcastinput_19*
T0*

type0
3
input_20Placeholder*
dtype0*
shape:
1
call_20Bitcastinput_20*
T0*

type0
3
input_21Placeholder*
dtype0*
shape:
1
call_21Bitcastinput_21*
T0*

type0
3
input_22Placeholder*
dtype0*
shape:
1
call_22Bitcastinput_22*
T0*

type0
3
input_23Placeholder*
dtype0*
shape:
1
call_23Bitcastinput_23*
T0*

type0
3
input_24Placeholder*
dtype0*
shape:
1
call_24Bitcastinput_24*
T0*

type0	
3
input_25Placeholder*
dtype0*
shape:
1
call_25Bitcastinput_25*
T0*

type0"