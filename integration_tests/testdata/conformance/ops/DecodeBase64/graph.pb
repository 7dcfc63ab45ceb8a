
2
input_0Placeholder*
dtype0*
shape:

call_0DecodeBase64input_0"ª