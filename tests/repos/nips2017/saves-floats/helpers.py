import os


def names_of(folder):
    names = []
    for name in sorted(os.listdir(folder)):
	if name.endswith(".png"):
	    names.append(name)
    return names
