
1
seed_0Placeholder*
dtype0	*
shape:
;
call_0StatelessRandomGetKeyCounterseed_0*
Tseed0	
1
seed_1Placeholder*
dtype0*
shape:
;
call_1StatelessRandomGetKeyCounterseed_1*
Tseed0"ª