
:
ClipByValue/t_0Placeholder*
dtype0*
shape:
G
ClipByValue/clip_value_min_0Placeholder*
dtype0*
shape:
G
ClipByValue/clip_value_max_0Placeholder*
dtype0*
shape:
w
ClipByValue/call_0ClipByValueClipByValue/t_0ClipByValue/clip_value_min_0ClipByValue/clip_value_max_0*
T0"ª