
2
input_0Placeholder*
dtype0*
shape:
4
	pattern_0Placeholder*
dtype0*
shape:
,
call_0RegexFullMatchinput_0	pattern_0"ª