(class_declaration name: (type_identifier) @name) @class
(abstract_class_declaration name: (type_identifier) @name) @class
(interface_declaration name: (type_identifier) @name) @class
(type_alias_declaration name: (type_identifier) @name) @class
(enum_declaration name: (identifier) @name) @class
(function_declaration name: (identifier) @name) @function
(generator_function_declaration name: (identifier) @name) @function
(function_signature name: (identifier) @name) @function
(method_definition name: (property_identifier) @name) @function
(method_signature name: (property_identifier) @name) @function
(abstract_method_signature name: (property_identifier) @name) @function
(program (lexical_declaration (variable_declarator name: (identifier) @name value: (arrow_function))) @function)
(export_statement (lexical_declaration (variable_declarator name: (identifier) @name value: (arrow_function))) @function)
(program (lexical_declaration (variable_declarator name: (identifier) @name)) @field)
(export_statement (lexical_declaration (variable_declarator name: (identifier) @name)) @field)
(public_field_definition name: (property_identifier) @name) @field
(property_signature name: (property_identifier) @name) @field
(enum_body (property_identifier) @name @field)
(enum_assignment name: (property_identifier) @name) @field
(program (import_statement) @import)
(program (lexical_declaration (variable_declarator value: [(call_expression function: (identifier) @require) (_ (call_expression function: (identifier) @require))])) @import)
