"""
The work of a session besides completions at the cursor.

model_edits: asks a next-edit model, if the settings name one
next_edits: proposes the next edit of a workspace
long_text: writes a long text at the cursor that may outgrow the context
instructed_edits: edits by instruction, as the model writes them
"""
