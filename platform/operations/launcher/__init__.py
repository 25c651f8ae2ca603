"""Workers as jobs of a cluster: an engine such as Slurm starts them where work waits, and they end when none is left.

A job is a worker, never an item of work: it claims under a lease as every worker does, so a job that the engine kills
or forgets costs the rest of its lease, and nothing else.
"""
