(struct_specifier name: (type_identifier) body: (_)) @whole
(union_specifier name: (type_identifier) body: (_)) @whole
(enum_specifier name: (type_identifier) body: (_)) @whole
(type_definition declarator: (type_identifier)) @whole
(function_definition declarator: [(function_declarator declarator: (identifier)) (pointer_declarator declarator: (function_declarator declarator: (identifier)))]) @whole
(declaration declarator: [(function_declarator declarator: (identifier)) (pointer_declarator declarator: (function_declarator declarator: (identifier)))]) @whole
(preproc_function_def name: (identifier)) @whole
