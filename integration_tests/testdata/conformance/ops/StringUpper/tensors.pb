

t0BABCxyzBäéB�

t1B	äéß σBabc

t2BABCXYZBäéB�

t3B	ÄÉSS ΣBABC