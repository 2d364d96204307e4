"""The processes: read the environment, build everything, run it. Small on purpose."""
