"""The whole house on sentences of our own, true and false, with a scripted judge: what is shown, with which mark.

The sentences were written from the texts alone. Their texts lie in the optional folder of test data and are never
copied.
"""
