"""The steps of a question, a file each: intake, plan, search, synthesize, deliver; and the cache of answers."""
