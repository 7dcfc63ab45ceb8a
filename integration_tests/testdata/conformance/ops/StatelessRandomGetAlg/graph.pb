

call_0StatelessRandomGetAlg"ª