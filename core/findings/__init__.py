"""What the modes idea, implementation and freeform share (S004): results, parsing, judging, rendering."""
