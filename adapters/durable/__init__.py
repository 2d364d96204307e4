"""Jobs that survive crashes: DBOS behind the queue and the steps of core/model/ports.py.

Nothing here imports DBOS before it is needed: a process that only shows pages stays small. DBOS
keeps the order of steps and who runs what; our own tables keep everything that people asked or read.
"""
