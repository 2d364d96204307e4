"""What is shown of a job, the same in every interface: the card, its words, exports and references."""
