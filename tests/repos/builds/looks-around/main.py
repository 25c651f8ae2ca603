print(open("/submission/seen.txt").read())
