cat made.txt
