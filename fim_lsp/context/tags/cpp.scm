(class_specifier name: (type_identifier) body: (_)) @whole
(struct_specifier name: (type_identifier) body: (_)) @whole
(union_specifier name: (type_identifier) body: (_)) @whole
(enum_specifier name: (type_identifier) body: (_)) @whole
(type_definition declarator: (type_identifier)) @whole
(alias_declaration name: (type_identifier)) @whole
(function_definition declarator: [(function_declarator declarator: [(identifier) (field_identifier)]) (_ (function_declarator declarator: [(identifier) (field_identifier)]))]) @whole
(function_definition declarator: [(function_declarator declarator: (qualified_identifier scope: (_) name: (identifier))) (_ (function_declarator declarator: (qualified_identifier scope: (_) name: (identifier))))]) @whole
(declaration declarator: [(function_declarator declarator: (identifier)) (_ (function_declarator declarator: (identifier)))]) @whole
(field_declaration declarator: [(function_declarator declarator: (field_identifier)) (_ (function_declarator declarator: (field_identifier)))]) @whole
(preproc_function_def name: (identifier)) @whole
