
1
seed_0Placeholder*
dtype0	*
shape:
>
call_0StatelessRandomGetKeyCounterAlgseed_0*
Tseed0	"ª