
2
input_0Placeholder*
dtype0*
shape:
8
call_0StaticRegexFullMatchinput_0*
pattern.*
2
input_1Placeholder*
dtype0*
shape:
<
call_1StaticRegexFullMatchinput_1*
pattern(?s).*
2
input_2Placeholder*
dtype0*
shape:
7
call_2StaticRegexFullMatchinput_2*
pattern*"ª