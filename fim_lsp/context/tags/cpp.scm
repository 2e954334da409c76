(class_specifier name: (type_identifier) @name body: (_)) @class
(struct_specifier name: (type_identifier) @name body: (_)) @class
(union_specifier name: (type_identifier) @name body: (_)) @class
(enum_specifier name: (type_identifier) @name body: (_)) @class
(type_definition declarator: (type_identifier) @name) @class
(alias_declaration name: (type_identifier) @name) @class
(function_definition declarator: [(function_declarator declarator: [(identifier) (field_identifier)] @name) (_ (function_declarator declarator: [(identifier) (field_identifier)] @name))]) @function
(function_definition declarator: [(function_declarator declarator: (qualified_identifier scope: (_) @owner name: (identifier) @name)) (_ (function_declarator declarator: (qualified_identifier scope: (_) @owner name: (identifier) @name)))]) @function
(declaration declarator: [(function_declarator declarator: (identifier) @name) (_ (function_declarator declarator: (identifier) @name))]) @function
(field_declaration declarator: [(function_declarator declarator: (field_identifier) @name) (_ (function_declarator declarator: (field_identifier) @name))]) @function
(preproc_function_def name: (identifier) @name) @function
(preproc_def name: (identifier) @name) @field
(field_declaration declarator: [(field_identifier) @name (_ (field_identifier) @name)]) @field
(enumerator name: (identifier) @name) @field
[(preproc_include) (using_declaration)] @import
