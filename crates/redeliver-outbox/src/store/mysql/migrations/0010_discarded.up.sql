-- The index by the time of giving up is there since the first step; the others have it from here on.
DO 0;
