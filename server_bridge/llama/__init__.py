"""
llama.cpp servers as a `Backend`, with a mirror of what their slots hold.

answers: the types of what llama.cpp's endpoints answer
identity: what a server says of itself, and whether web pages may read it
link: a server that has proved its identity: typed answers; text goes to no other server
tokenizer: token ids of texts, each text tokenized once
checkpoints: predicts how far back the state of a model can be taken
own: what is known of a server beside what it says, and whether others use it
contents: what slots hold, and what the server sets aside of it, by its own rules
mirror: predicts how much of a prompt each slot reuses, by llama.cpp's own rules
completion: the body of a `/completion` request, and its answer as `Reply`, piece by piece
cache_check: what to tell the user where less is reused than the mirror says
slots: which slot a document's prompts go to: a policy for servers of our own, one for others
slot_client: requests to slots, and what each teaches about the cache
persistence: notes on slots that the server saved: of what they are, and which serves a prompt best
cache: evaluates prompts in the slots where the least is left to evaluate; saves and restores slots
backend: a llama.cpp server as a `Backend`
"""
