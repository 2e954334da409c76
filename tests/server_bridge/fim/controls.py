"""
The control tokens of each family's tokenizer besides its FIM tokens, as they could stand in a file.

From the models' tokenizer_config.json and special_tokens_map.json; for Codestral from mistral-common.
"""

from __future__ import annotations

CHAT = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")
STARCODER = (
    "<|endoftext|>", "<fim_pad>", "<reponame>", "<filename>", "<gh_stars>", "<issue_start>",
    "<issue_comment>", "<issue_closed>", "<jupyter_start>", "<jupyter_text>", "<jupyter_code>",
    "<jupyter_output>", "<empty_output>", "<commit_before>", "<commit_msg>", "<commit_after>",
)  # fmt: skip
GLM = (
    "<|endoftext|>", "[MASK]", "[gMASK]", "[sMASK]", "<sop>", "<eop>", "<|system|>", "<|user|>",
    "<|assistant|>", "<|observation|>", "<think>", "</think>", "<tool_call>", "</tool_call>",
    "<arg_key>", "</arg_value>", "/nothink",
)  # fmt: skip
CONTROLS = {
    "fim": (*CHAT, "<|fim_pad|>"),
    "qwen": (*CHAT, "<|fim_pad|>", "<|vision_start|>", "<|object_ref_end|>"),
    "codegemma": (
        "<eos>", "<bos>", "<pad>", "<unk>", "<mask>", "<2mass>", "[@BOS@]", "<unused0>",
        "<unused98>",
        "<start_of_turn>", "<end_of_turn>",
    ),
    "granite-4": ("<|end_of_text|>", "<|start_of_role|>", "<|end_of_role|>", "<|tool_call|>"),
    "mellum": STARCODER,
    "codeqwen": ("<s>", "</s>", "<unk>", "<fim_pad>", "<commit_before>", *CHAT),
    "starcoder2": (
        *STARCODER, "<jupyter_script>", "<code_to_intermediate>", "<intermediate_to_code>", "<pr>",
        "<pr_status>", "<pr_diff_hunk_comment_line>", "<NAME>", "<EMAIL>", "<KEY>", "<PASSWORD>",
    ),
    "starcoder": STARCODER,
    "stablecode": (*STARCODER, *CHAT, "<unk>"),
    "santacoder": ("<|endoftext|>", "<fim-pad>"),
    "deepseek": (
        "<｜begin▁of▁sentence｜>", "<｜end▁of▁sentence｜>", "<｜tool▁calls▁begin｜>", "<|EOT|>",
    ),
    "codellama": ("<s>", "</s>", "<unk>", "<EOT>"),
    "codegeex": GLM,
    "glm-4": GLM,
    "seed-coder": ("<[begin▁of▁sentence]>", "<[end▁of▁sentence]>", "<[PAD▁TOKEN]>", "<[fim-pad]>"),
    "falcon-h1": (
        "<|endoftext|>", "<|begin_of_text|>", ">>TITLE<<", ">>ABSTRACT<<", ">>PREFIX<<",
        ">>MIDDLE<<",
    ),
    "codestral": (
        "<s>", "</s>", "<unk>", "<pad>", "[INST]", "[/INST]", "[AVAILABLE_TOOLS]",
        "[/AVAILABLE_TOOLS]",
        "[TOOL_RESULTS]", "[/TOOL_RESULTS]", "[TOOL_CALLS]", "[TOOL_CONTENT]", "[IMG]",
        "[IMG_BREAK]",
        "[IMG_END]", "[MIDDLE]", "[SYSTEM_PROMPT]", "[/SYSTEM_PROMPT]", "[control_8]",
        "<SPECIAL_20>",
    ),
}  # fmt: skip
# Of models that no row of ours is for, but whose tokens a server may read all the same.
OTHERS = (
    "<|begin_of_text|>",
    "<|eot_id|>",
    "<|start_header_id|>",
    "<|reserved_special_token_247|>",
)
